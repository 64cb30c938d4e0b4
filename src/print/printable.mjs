// What may reach a terminal, a log or a file that people open. Plain JavaScript, because the first lines of a start
// are printed before TypeScript can be read.

/** What is not seen but changes how the rest is seen: control characters, bidi controls, zero widths, line ends. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The same but for the line end, which JSON has between its parts and CSV between its lines. */
const unprintableInLines = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Text of others in one line: what could steer a terminal, turn the line around or hide a part of it shows its number
 * instead, as `⟨1B⟩`. To do it twice changes nothing.
 * @param {string} text
 */
export const printable = (text) => text.toWellFormed().replace(unprintable, numbered)

/**
 * JSON that means the same and holds nothing that steers a terminal. JSON itself escapes no more than what is below
 * the blank.
 * @param {string} json
 */
export const printableJson = (json) => json.replace(unprintableInLines, escaped)

/** In a page a tab is a blank. What a form sends back is kept: a name that is saved unread must not become another. */
const unprintableInHtml = /(<textarea\b[^>]*>[^<]*|\svalue="[^"]*")|([^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}])/gu

/**
 * A finished page, in which values were escaped as they were put in: text, titles and labels show what they would hide.
 * @param {string} html
 */
export const printableHtml = (html) =>
  html
    .toWellFormed()
    .replace(unprintableInHtml, (_, kept, character) => (kept === undefined ? numbered(character) : kept))

/** @param {string} character */
const numbered = (character) => `⟨${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}⟩`

/** @param {string} character */
const escaped = (character) =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')
