import { Hono } from 'hono'
import type { ApiDeps, ApiEnv } from '../api/env.ts'
import { requireRole } from '../api/route.ts'
import { createScreens } from '../api/screens/screens.ts'
import { createAsk } from './ask.ts'
import { assets } from './assets.ts'
import { inventoryVerbs } from './inventory-verbs.ts'
import { jobVerbs } from './job-verbs.ts'
import { LivePages } from './live.ts'
import { migrationVerbs } from './migration-verbs.ts'
import { operationVerbs } from './operation-verbs.ts'
import type { RenderPage } from './page.ts'
import { assessmentPage } from './pages/assessment.ts'
import { batchPage } from './pages/batch.ts'
import { editBatchPage, newBatchPage } from './pages/batch-form.ts'
import { batchListPage } from './pages/batch-list.ts'
import { batchMembersPage } from './pages/batch-members.ts'
import { bulkPage } from './pages/bulk.ts'
import { certificatePage } from './pages/certificate.ts'
import { certificatesPage } from './pages/certificates.ts'
import { effectsPage } from './pages/effects.ts'
import { entryPage } from './pages/entry.ts'
import { eventsPage } from './pages/events.ts'
import { failedPage } from './pages/failed.ts'
import { hostsPage } from './pages/hosts.ts'
import { instancePage } from './pages/instance.ts'
import { overridesPage } from './pages/instance-overrides.ts'
import { instancesPage } from './pages/instances.ts'
import { jobPage } from './pages/job.ts'
import { jobsPage } from './pages/jobs.ts'
import { machinePage } from './pages/machine.ts'
import { machineBulkPage } from './pages/machine-bulk.ts'
import { machinesPage } from './pages/machines.ts'
import { networkPage } from './pages/network.ts'
import { networksPage } from './pages/networks.ts'
import { operationPage } from './pages/operation.ts'
import { operationsPage } from './pages/operations.ts'
import { overviewPage } from './pages/overview.ts'
import { planPage } from './pages/plan.ts'
import { plansPage } from './pages/plans.ts'
import { queuePage } from './pages/queue.ts'
import { signingKeysPage } from './pages/signing-keys.ts'
import { sitePage } from './pages/site.ts'
import { editSitePage, newSitePage } from './pages/site-form.ts'
import { siteListPage } from './pages/site-list.ts'
import { warningsPage } from './pages/warnings.ts'
import { workersPage } from './pages/workers.ts'
import { type ConsoleParts, servePage } from './serve-page.ts'
import { siteVerbs } from './site-verbs.ts'

const pages: Readonly<Record<string, RenderPage>> = {
  '/': overviewPage,
  '/batches': batchListPage,
  '/batches/:name': batchPage,
  '/batches/:name/instances': batchMembersPage,
  '/batches/:name/plans': plansPage,
  '/batches/:name/plans/:id': planPage,
  '/queue': queuePage,
  '/queue/:id': entryPage,
  '/certificates': certificatesPage,
  '/certificates/:id': certificatePage,
  '/signing-keys': signingKeysPage,
  '/sources': siteListPage('source'),
  '/sources/:name': sitePage('source'),
  '/targets': siteListPage('target'),
  '/targets/:name': sitePage('target'),
  '/hosts': hostsPage,
  '/networks': networksPage,
  '/networks/:id': networkPage(),
  '/instances': instancesPage,
  '/instances/:id': instancePage,
  '/machines': machinesPage,
  '/machines/:id': machinePage(),
  '/operations': operationsPage,
  '/operations/:id': operationPage,
  '/assessment': assessmentPage,
  '/warnings': warningsPage,
  '/jobs': jobsPage,
  '/jobs/:id': jobPage,
  '/failed': failedPage,
  '/effects': effectsPage,
  '/workers': workersPage,
  '/events': eventsPage,
}

/** Pages that are a form: only for who may send it. */
const forms: Readonly<Record<string, readonly ['operator' | 'admin', RenderPage]>> = {
  '/add-source': ['admin', newSitePage('source')],
  '/sources/:name/edit': ['admin', editSitePage('source')],
  '/add-target': ['admin', newSitePage('target')],
  '/targets/:name/edit': ['admin', editSitePage('target')],
  '/instances/:id/overrides': ['operator', overridesPage()],
  '/add-batch': ['operator', newBatchPage()],
  '/batches/:name/edit': ['operator', editBatchPage()],
  '/queue/all/:verb': ['operator', bulkPage()],
  '/machines/all': ['operator', machineBulkPage()],
}

/**
 * The pages for people, to be mounted at `/`. Made on the server from what the API answers, so there is no
 * second truth; complete without scripts. A page asked for as an event stream answers with its changes.
 */
export const createConsole = (deps: ApiDeps): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  const parts: ConsoleParts = {
    deps,
    live: new LivePages(deps),
    askAs: createAsk(deps),
    screens: createScreens(deps),
  }
  for (const asset of assets)
    app.get(
      asset.path,
      () =>
        new Response(asset.body, {
          headers: { 'Content-Type': asset.type, 'Cache-Control': 'public, max-age=86400' },
        }),
    )
  for (const [path, [role, render]] of Object.entries(forms))
    app.get(path, requireRole(role), (c) => servePage(c, parts, render))
  for (const [path, render] of Object.entries(pages))
    app.get(path, requireRole('viewer'), (c) => servePage(c, parts, render))
  app.route('/', jobVerbs(parts))
  app.route('/', siteVerbs(parts))
  app.route('/', inventoryVerbs(parts))
  app.route('/', migrationVerbs(parts))
  app.route('/', operationVerbs(parts))
  return app
}
