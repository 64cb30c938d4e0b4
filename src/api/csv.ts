/** What a spreadsheet would take for a formula when a field begins with it. */
const formulaStart = /^[\s]*[=+\-@\t\r]/

/**
 * One line of CSV (RFC 4180). Every field is quoted; one that a spreadsheet would run as a formula gets an
 * apostrophe in front, because names of machines are other people's text.
 */
export const csvLine = (fields: readonly (string | number | boolean | null)[]): string =>
  `${fields.map(csvField).join(',')}\r\n`

const csvField = (value: string | number | boolean | null): string => {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && formulaStart.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
