/** The hosts of a URL of Postgres: there may be several with commas between, and `URL` knows one. */
const several = /^(\w+:\/\/(?:[^/?#]*@)?)(?![^/?#]*@)([^/?#,]*),[^/?#]*/

export const hasSeveralHosts = (url: string): boolean => several.test(url)

/** The same URL with the first of its hosts alone. Any other text comes back as it is. */
export const withFirstHost = (url: string): string => url.replace(several, '$1$2')
