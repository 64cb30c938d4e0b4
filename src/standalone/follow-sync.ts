import type { Clock } from '../clock.ts'
import { askSite, checkSite, type Registered, type SiteSeen, syncSite } from './lab-sites.ts'
import type { Ask } from './local-api.ts'

const lookMs = 150

export interface FollowOptions {
  readonly ask: Ask
  readonly registered: Registered
  readonly clock: Clock
  readonly signal: AbortSignal
  /** How far it is, in a few words. */
  readonly show: (text: string) => void
  /** Gives the site the password of this start again. */
  readonly renewPassword: () => Promise<void>
}

/** How a site stands after its sync, or what keeps it from one. */
export interface Followed {
  readonly seen: SiteSeen
  readonly trouble?: { readonly message: string; readonly remedy: string }
}

interface JobSeen {
  readonly state: string
  readonly progress: { readonly done?: number } | null
  readonly error: { readonly message: string; readonly remedy: string } | null
}

/** Waits until a site is connected and was read since this start. Throws when told to stop. */
export const followSync = async (options: FollowOptions): Promise<Followed> => {
  const { ask, registered, clock, signal, show } = options
  const { site, outcome, before } = registered
  if (outcome === 'known') await checkSite(ask, site)
  let renewed = false
  let job: string | undefined
  for (;;) {
    signal.throwIfAborted()
    const { body: seen } = await askSite(ask, site)
    const { state, checked_at: checkedAt } = seen.connectivity
    const looked = outcome !== 'known' || checkedAt !== before?.connectivity.checked_at
    if (state === 'unknown' || !looked) show('connecting')
    else if (state === 'authentication-error' && !renewed) {
      renewed = true
      await options.renewPassword()
    } else if (state !== 'ok') return { seen, trouble: troubleOf(seen) }
    else if (seen.sync.synced_at !== (before?.sync.synced_at ?? null)) return { seen }
    else {
      job ??= await syncSite(ask, site, seen.sync.synced_at === null ? 'full' : 'delta')
      const { body } = await ask<JobSeen>(`GET /v1/jobs/${job}`)
      if (body.state === 'failed' && body.error) return { seen, trouble: body.error }
      const done = body.progress?.done ?? 0
      show(done > 0 ? `reading, ${done} things so far` : 'reading')
    }
    await clock.sleep(lookMs, signal)
  }
}

const troubleOf = ({ connectivity }: SiteSeen) => ({
  message: connectivity.message ?? connectivity.state,
  remedy: connectivity.remedy ?? '',
})
