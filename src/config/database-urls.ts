import { configError } from './config-files.ts'
import { withFirstHost } from './several-hosts.ts'

/** The roles that have a login of their own. The owner's is for `migrate`. */
export const loginRoles = ['api', 'conductor', 'worker', 'lab'] as const
export type LoginRole = (typeof loginRoles)[number]

/** How each process signs in to the one database: only the owner may change the schema. */
export interface DatabaseUrls extends Readonly<Record<LoginRole, string>> {
  readonly owner: string
}

/** Everybody as one user, where nobody has made logins for the roles. */
export const oneLogin = (
  url: string,
  roles: Readonly<Partial<Record<LoginRole, string>>> = {},
): DatabaseUrls => ({ owner: url, api: url, conductor: url, worker: url, lab: url, ...roles })

export interface Login {
  readonly name: string
  readonly password: string
}

/** The user and the password that a URL names. */
export const loginIn = (url: string): Login => {
  const { username, password } = new URL(withFirstHost(url))
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) }
}

/** The login that is to be made for the URL of this setting: it has to name both. */
export const loginToMake = (setting: string, url: string): Login => {
  const login = loginIn(url)
  if (login.name !== '' && login.password !== '') return login
  throw configError(
    setting,
    `${setting} must name a user and a password, such as postgres://user:password@host:5432/database.`,
    `Give ${setting} both: DROVER_SETUP_DATABASE_URL is set, so this login is made, or its password set.`,
  )
}

/** The same database for another user. */
export const asLogin = (url: string, login: Login): string => {
  const own = new URL(url)
  own.username = encodeURIComponent(login.name)
  own.password = encodeURIComponent(login.password)
  return own.href
}
