/** With a full stop, unless the text has one: texts of people and of checks come either way. */
export const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

/** `1 machine`, `2 machines`. */
export const many = (count: number, thing: string, plural = `${thing}s`): string =>
  `${count} ${count === 1 ? thing : plural}`

/** What is listed with a refusal and not said in its message yet: a line each, after the field that it is about. */
export const saidBeside = (
  message: string,
  errors: readonly { readonly field: string; readonly message: string }[],
): string[] =>
  errors.length === 1 && message.includes(errors[0]?.message ?? '')
    ? []
    : errors
        .map(({ field, message: said }) => (field === '' ? said : `${field}: ${said}`))
        .filter((line) => !message.includes(line))
