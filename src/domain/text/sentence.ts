/** With a full stop, unless it has its own: texts of people and of checks come either way. */
export const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

/** `1 machine`, `2 machines`. */
export const many = (count: number, thing: string, plural = `${thing}s`): string =>
  `${count} ${count === 1 ? thing : plural}`
