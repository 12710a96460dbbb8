/** The order of files, which is the same in the tree and in the changes. */

/** The files of each folder, in the order of its first one; `pathOf(file)` is the path of a file. */
export function byFolder(files, pathOf) {
  const folders = new Map();
  for (const file of files) {
    const path = pathOf(file);
    const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (!folders.has(folder)) folders.set(folder, []);
    folders.get(folder).push(file);
  }
  return folders;
}
