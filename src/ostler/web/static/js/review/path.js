/** The address of a task's review page. */
export const reviewPath = (task) => `/tasks/${encodeURIComponent(task)}/review`;
