import { printable } from '../../print/printable.mjs'

/** What a spreadsheet takes for a formula at the beginning of a field; some read the wide and the small forms too. */
const formulaStart = /^[\s\p{Cc}\p{Cf}]*[=+\-@\t\r＝＋－＠﹦﹢﹣﹫]/u

/**
 * One line of CSV (RFC 4180). Every field is quoted. Names of machines are other people's text: one that a spreadsheet
 * would run as a formula gets an apostrophe in front, and what could steer a terminal shows its number.
 */
export const csvLine = (fields: readonly (string | number | boolean | null)[]): string =>
  `${fields.map(csvField).join(',')}\r\n`

const csvField = (value: string | number | boolean | null): string => {
  if (typeof value !== 'string') return `"${value === null ? '' : String(value)}"`
  const text = printable(value)
  return `"${(formulaStart.test(value) ? `'${text}` : text).replaceAll('"', '""')}"`
}
