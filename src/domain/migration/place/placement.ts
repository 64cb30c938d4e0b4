import type { NetworkPlacement } from '../../inventory/overrides.ts'

/** The placement of an entry. Keys and names are the API's; scripts and the live target refine it. */
export interface Placement {
  readonly target: string
  readonly project: string
  /** A host by name; empty: the target chooses. */
  readonly host: string
  /** Pool by disk key. */
  readonly pools: Readonly<Record<string, string>>
  /** Network by MAC address. */
  readonly networks: Readonly<Record<string, NetworkPlacement>>
}

/** Which step of the decision set what: kept, because "why is it there?" is asked years later. */
export interface WhyHere {
  readonly what: string
  readonly value: string
  readonly because: string
}
