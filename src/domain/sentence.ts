/** With a full stop, unless it has its own: texts of people and of checks come either way. */
export const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)
