/** Longer than any path that a platform accepts. */
const longestName = 1_024

/**
 * The normal form of a file name in an archive or in a descriptor; undefined: the name leads out of the archive, or is
 * ambiguous on some system.
 */
export const entryName = (text: string): string | undefined => {
  const name = text.replace(/^(\.\/+)+/, '')
  if (name === '' || name.length > longestName || /[\p{Cc}\\]|^\/|^[a-z]:/iu.test(name)) return undefined
  const parts = name.replace(/\/$/, '').split('/')
  return parts.some((part) => part === '' || part === '.' || part === '..') ? undefined : parts.join('/')
}

/** Whether the file holds metadata that macOS stores beside each file. */
export const isAppleDouble = (name: string): boolean => (name.split('/').at(-1) ?? '').startsWith('._')
