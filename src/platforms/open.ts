import { openLab } from './lab/lab.ts'
import type { Connection, PlatformKind } from './ports/connection.ts'
import type { Platform } from './ports/ports.ts'
import { openVsphere } from './vsphere/vsphere.ts'

export type OpenPlatform = (connection: Connection) => Platform

/** How each kind is opened: a new platform adds its line here and its name in connection.ts. */
export const openers: Readonly<Record<PlatformKind, OpenPlatform>> = {
  lab: openLab,
  vsphere: openVsphere,
}
