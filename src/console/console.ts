import { Hono } from 'hono'
import type { ApiDeps, ApiEnv } from '../api/http/env.ts'
import { requireRole } from '../api/http/route.ts'
import { createScreens } from '../api/screens/screens.ts'
import { createAsk } from './kit/ask.ts'
import { assets } from './kit/assets.ts'
import { LivePages } from './kit/live.ts'
import type { RenderPage } from './kit/page.ts'
import { type ConsoleParts, servePage } from './kit/serve-page.ts'
import { overviewPage } from './pages/fleet/overview.ts'
import { signingKeysPage } from './pages/fleet/signing-keys.ts'
import { workersPage } from './pages/fleet/workers.ts'
import { assessmentPage } from './pages/inventory/assessment.ts'
import { hostsPage } from './pages/inventory/hosts.ts'
import { instancePage } from './pages/inventory/instance.ts'
import { overridesPage } from './pages/inventory/instance-overrides.ts'
import { instancesPage } from './pages/inventory/instances.ts'
import { networkPage } from './pages/inventory/network.ts'
import { networksPage } from './pages/inventory/networks.ts'
import { sitePage } from './pages/inventory/site.ts'
import { editSitePage, newSitePage } from './pages/inventory/site-form.ts'
import { siteListPage } from './pages/inventory/site-list.ts'
import { warningsPage } from './pages/inventory/warnings.ts'
import { effectsPage } from './pages/jobs/effects.ts'
import { eventsPage } from './pages/jobs/events.ts'
import { failedPage } from './pages/jobs/failed.ts'
import { jobPage } from './pages/jobs/job.ts'
import { jobsPage } from './pages/jobs/jobs.ts'
import { batchPage } from './pages/migration/batch.ts'
import { editBatchPage, newBatchPage } from './pages/migration/batch-form.ts'
import { batchInstancesPage } from './pages/migration/batch-instances.ts'
import { batchListPage } from './pages/migration/batch-list.ts'
import { bulkPage } from './pages/migration/bulk.ts'
import { certificatePage } from './pages/migration/certificate.ts'
import { certificatesPage } from './pages/migration/certificates.ts'
import { entryPage } from './pages/migration/entry.ts'
import { planPage } from './pages/migration/plan.ts'
import { plansPage } from './pages/migration/plans.ts'
import { queuePage } from './pages/migration/queue.ts'
import { machinePage } from './pages/operation/machine.ts'
import { machineBulkPage } from './pages/operation/machine-bulk.ts'
import { machinesPage } from './pages/operation/machines.ts'
import { operationPage } from './pages/operation/operation.ts'
import { operationsPage } from './pages/operation/operations.ts'
import { imagePage } from './pages/template/image.ts'
import { imagesPage } from './pages/template/images.ts'
import { templatePage } from './pages/template/template.ts'
import { templatesPage } from './pages/template/templates.ts'
import { createPageAgain } from './refused/page-again.ts'
import { inventoryVerbs } from './verbs/inventory-verbs.ts'
import { jobVerbs } from './verbs/job-verbs.ts'
import { migrationVerbs } from './verbs/migration-verbs.ts'
import { operationVerbs } from './verbs/operation-verbs.ts'
import { siteVerbs } from './verbs/site-verbs.ts'
import { templateVerbs } from './verbs/template-verbs.ts'

const pages: Readonly<Record<string, RenderPage>> = {
  '/': overviewPage,
  '/batches': batchListPage,
  '/batches/:name': batchPage,
  '/batches/:name/instances': batchInstancesPage,
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
  '/machines/:id': machinePage,
  '/operations': operationsPage,
  '/operations/:id': operationPage,
  '/templates': templatesPage,
  '/templates/:name': templatePage,
  '/images': imagesPage,
  '/images/:id': imagePage,
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
  '/queue/all/:verb': ['operator', bulkPage],
  '/machines/all': ['operator', machineBulkPage],
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
  const addPages = (to: Hono<ApiEnv>): void => {
    for (const [path, [role, render]] of Object.entries(forms))
      to.get(path, requireRole(role), (c) => servePage(c, parts, render))
    for (const [path, render] of Object.entries(pages))
      to.get(path, requireRole('viewer'), (c) => servePage(c, parts, render))
  }
  app.onError(createPageAgain(addPages))
  addPages(app)
  app.route('/', jobVerbs(parts))
  app.route('/', siteVerbs(parts))
  app.route('/', inventoryVerbs(parts))
  app.route('/', migrationVerbs(parts))
  app.route('/', operationVerbs(parts))
  app.route('/', templateVerbs(parts))
  return app
}
