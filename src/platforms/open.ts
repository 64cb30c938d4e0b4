import type { Connection, PlatformKind } from './connection.ts'
import { openLab } from './lab/lab.ts'
import type { Platform } from './ports.ts'

/** How each kind is opened: a new platform adds its line here and its name in connection.ts. */
const openers: Readonly<Partial<Record<PlatformKind, (connection: Connection) => Platform>>> = {
  lab: openLab,
}

/** Opens a platform of its kind; the first call connects and signs in. Throws when the address cannot be right. */
export const openPlatform = (connection: Connection): Platform => {
  const open = openers[connection.kind]
  if (!open) throw new Error(`Nobody knows how to open a platform of kind "${connection.kind}".`)
  return open(connection)
}
