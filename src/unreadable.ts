const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a link',
}

/** Why a file could not be read, in words and without its path: what Node says is for programmers. */
export const whyUnreadable = (error: unknown): string => {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException
  return words[code] ?? message
}
