/** The projects of the server (ostler.projects/1). */

import { getOfServer } from "../api.js";

const STATES = {
  running: "",
  viewing: "View only",
  elsewhere: "Run by another process",
  stopped: "Does not run tasks",
  unavailable: "Not available",
  gone: "Directory is gone",
};

/** Loads them. */
export const loadProjects = (signal) => getOfServer("/projects", signal);

/** The state in words; empty for a project whose tasks run here. */
export const stateOf = ({ state }) => STATES[state];

/** Whether its pages can be opened. */
export const isOpen = ({ counts }) => counts !== null;

/** The number of tasks that wait for a person, in all projects. */
export const waitingForPerson = (projects) => projects.reduce((sum, { counts }) => sum + (counts?.needs_you ?? 0), 0);
