/** The line drawings of the bar and the board, as path data for a field of 16 by 16. */

export const BOARD = "M2.5 3h3v10h-3zM6.5 3h3v6h-3zM10.5 3h3v8h-3z";
export const BOOKMARK = "M4.5 2.5h7v11L8 10.5l-3.5 3z";
export const COPY = "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3";
export const COST = "M2.5 13.5v-11M2.5 13.5h11M5 11V8.5M8 11V5M11 11V7";
export const DOWN = "M4 6.5l4 4 4-4";
export const FILTER = "M2.5 4h11M4.5 8h7M6.5 12h3";
export const HORSESHOE = "M5 14L3.5 8a4.6 5.5 0 1 1 9 0L11 14";
export const INBOX = "M2.5 9.5l2-6h7l2 6v3.5h-11zM2.5 9.5H6a2 2 0 0 0 4 0h3.5";
export const LIST = "M2.5 4h11M2.5 8h11M2.5 12h11";
export const MACHINE =
  "M4 4h8v8H4zM6.5 6.5h3v3h-3zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5";
export const MENU = "M3 4.5h10M3 8h10M3 11.5h10";
export const MODELS = "M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6";
export const MOON = "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z";
export const MORE = "M3.4 8h.2M7.9 8h.2M12.4 8h.2";
export const PIPELINES =
  "M2 8h3M11 4H9.5a2 2 0 0 0-2 2v4a2 2 0 0 0 2 2H11M5 6.5h2.5v3H5zM11 2.5h3v3h-3zM11 10.5h3v3h-3z";
export const PLUS = "M8 3v10M3 8h10";
export const PROJECTS = "M2.5 3h4.5v4.5H2.5zM9 3h4.5v4.5H9zM2.5 9.5h4.5V14H2.5zM9 9.5h4.5V14H9z";
export const SCREEN = "M2.5 3h11v7.5h-11zM6 13.5h4";
export const SEARCH = "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3";
export const SUN =
  "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3" +
  "M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9";
export const UP = "M4 9.5l4-4 4 4";
