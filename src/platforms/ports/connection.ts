import type { DroverError } from '../../errors.ts'

/** What it takes to reach a platform. The password lives here only while a connection is open. */
export interface Connection {
  readonly kind: PlatformKind
  /** `https://vcenter.example.org/sdk`; plain http only on loopback. */
  readonly endpoint: string
  readonly username: string
  readonly password: string
  /** Certificates (PEM) to trust instead of the system's; empty: the system's. */
  readonly ca: string
  /** SHA-256 of the server's certificate, lower-case hex; pins it, whoever signed it. Empty: not pinned. */
  readonly fingerprint: string
  /** Who calls, for the platform's own records. */
  readonly caller: string
  readonly connectTimeoutMs: number
  /** Hears how the platform answers, whoever asked it. */
  readonly watch?: ConnectionWatch
}

/** Told of every exchange with a platform, good or bad, and of one that could not begin; it must neither throw nor keep anybody waiting. */
export interface ConnectionWatch {
  answered(): void
  failed(error: DroverError): void
}

export const platformKinds = ['lab', 'vsphere'] as const
export type PlatformKind = (typeof platformKinds)[number]
