import { register } from 'prom-client'

/** Files share a process, and with it the metrics: each counts from nothing. */
register.resetMetrics()
