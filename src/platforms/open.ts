import { openLab } from './lab/lab.ts'
import type { Connection, PlatformKind } from './ports/connection.ts'
import type { Platform } from './ports/ports.ts'
import { openVsphere } from './vsphere/vsphere.ts'

/** How each kind is opened: a new platform adds its line here and its name in connection.ts. */
const openers: Readonly<Record<PlatformKind, (connection: Connection) => Platform>> = {
  lab: openLab,
  vsphere: openVsphere,
}

/** Opens a platform of its kind; the first call connects and signs in. Throws when the address cannot be right. */
export const openPlatform = (connection: Connection): Platform => openers[connection.kind](connection)
