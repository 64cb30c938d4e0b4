/** Longer than any path that a platform takes. */
const longestName = 1_024

/**
 * The name of a file in an archive, or a name by which a descriptor means one, in one form; undefined: it leads out of
 * the archive, or could be taken for another on some system.
 */
export const entryName = (text: string): string | undefined => {
  const name = text.replace(/^(\.\/+)+/, '')
  if (name === '' || name.length > longestName || /[\p{Cc}\\]|^\/|^[a-z]:/iu.test(name)) return undefined
  const parts = name.replace(/\/$/, '').split('/')
  return parts.some((part) => part === '' || part === '.' || part === '..') ? undefined : parts.join('/')
}

/** What a Mac leaves beside each file. */
export const isAppleDouble = (name: string): boolean => (name.split('/').at(-1) ?? '').startsWith('._')
