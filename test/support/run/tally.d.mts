export interface SuiteResult {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly failures: readonly { readonly name: string; readonly message: string }[]
  readonly seconds: number
  readonly note: string
}

export function tally(run: {
  readonly suites: readonly { readonly name: string }[]
  readonly report: unknown
  readonly ended: unknown
  readonly whole: boolean
}): SuiteResult[]
