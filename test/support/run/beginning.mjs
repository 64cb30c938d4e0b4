const lines = 6

/** Enough of a message to know what went wrong; all of it stands further up in the log. */
export const beginning = (message) => message.trim().split('\n').slice(0, lines).join('\n')
