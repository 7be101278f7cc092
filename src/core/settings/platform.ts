import { z } from 'zod'
import { cidrs, days, flag, HOST_NAME, hostName, list, origin, port, url } from './forms.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Where it listens, keeps its data, and what it says. */
export const PLACE = {
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: a short `INTERNAL_API_KEY` stops the start, and links that cannot be mailed are not written to the log',
    ),
  HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address that all three listeners bind; `0.0.0.0` is every one of this machine'),
  WEB_PORT: port(3000).describe('Port of the dashboard and the public API; `0` picks a free one and prints it'),
  BACKEND_PORT: port(3001).describe('Port for services and agents; `0` picks a free one and prints it'),
  SUMMARIZER_PORT: port(3100).describe('Port of the summarizer; `0` picks a free one and prints it'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('./data')
    .describe("Database, generated keys, agents' folders and backups; made with mode 0700"),
  DATABASE_URL: z
    .string()
    .regex(
      /^file:./,
      'must be a file: URL: the database is one SQLite file, and several nodes share their state through CLUSTER_LOG_URL',
    )
    .optional()
    .meta({
      description: 'Path of the SQLite database file, as a `file:` URL; database servers are not supported',
      otherwise: '`file:<DATA_DIR>/stead.db`',
    }),
  DEPLOYMENT_MODE: z.enum(['cloud', 'home', 'link']).optional().meta({
    description:
      'At `home` the first account becomes the administrator and agents need no Docker; `cloud` is a platform that other services call',
    otherwise: '`cloud` when `INTERNAL_API_KEY` is set, else `home`',
  }),
  MIN_FREE_DISK_MB: z.coerce
    .number()
    .nonnegative()
    .default(256)
    .describe('Below so many free megabytes users’ writes answer 507, `/readyz` 503, and the operator is told'),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default('info')
    .describe('The least important lines that are still written; `silent` writes none'),
  LOG_FORMAT: z.enum(['pretty', 'json']).optional().meta({
    description: 'Form of log lines: `pretty` for people, `json` for programs (one object per line)',
    otherwise: '`pretty` on a terminal, else `json`',
  }),
  LOG_FILE: z.string().min(1).optional().meta({
    description: 'A file that lines of the log are added to, made with mode 0600; SIGHUP opens it anew',
    otherwise: 'standard output',
  }),
  RELEASE_FEED_URL: url.optional().meta({
    description:
      'Asked once a day for the newest release, which administrators are shown: JSON with `version` and `url`, or a release of the GitHub API',
    otherwise: 'off: nothing is requested',
  }),
  PLANNED_ENDPOINTS: flag(true).describe(
    '`false` hides the file explorer, `/api/usage/*` and `POST /api/keys/validate`',
  ),
}

/** How long details are kept. */
export const RETENTION = {
  RETENTION_USAGE_DAYS: days(400).describe('Days until rows of usage are deleted; sums of days stay; `0`: never'),
  RETENTION_TOOL_EVENTS_DAYS: days(90).describe('Days until uses of tools are deleted; sums of days stay; `0`: never'),
  RETENTION_MESSAGES_DAYS: days(0).describe(
    'Days until messages are deleted; `0`: never, the storage of their owner is their limit',
  ),
  RETENTION_AUDIT_DAYS: days(400).describe('Days until lines of the audit log are deleted; `0`: never'),
  RETENTION_SECURITY_EVENTS_DAYS: days(400).describe(
    'Days until security events are deleted, and after which older ones are refused; `0`: never',
  ),
  RETENTION_INBOX_DAYS: days(90).describe('Days until mail of agents is deleted; `0`: never'),
}

/** Names by which it is reached, and the proxies before it. */
export const NAMES = {
  APP_URL: origin.optional().meta({
    description: 'Public origin of the dashboard, for links in mails and for sign-in; `https` makes cookies `Secure`',
    otherwise: '`http://localhost:<WEB_PORT>`',
  }),
  DOMAIN: z.string().min(1).toLowerCase().default('localhost').describe("The platform's own domain"),
  AGENTS_DOMAIN: hostName.optional().meta({
    description:
      "Agents are `<id>.<AGENTS_DOMAIN>`; a registrable domain of its own keeps their pages away from the dashboard's cookies",
    otherwise: '`agents.<DOMAIN>`',
  }),
  ALLOWED_HOSTS: list
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be a comma-separated list of host names, without scheme or port',
    )
    .describe(
      "Further names under which this machine is asked; besides `APP_URL`'s, `DOMAIN`, agents', `localhost` and addresses, others get 421",
    ),
  TRUSTED_PROXIES: cidrs.describe('Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed'),
}

/** Secrets of the platform itself. */
export const OWN_SECRETS = {
  INTERNAL_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Bearer of the backend; without it callers from outside get 500; 32 characters or more in production'),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional().meta({
    description: 'Bearer of `GET /metrics` on the backend port',
    otherwise: 'callers on this machine alone, without one',
  }),
  ENCRYPTION_KEY: z.string().min(16, 'must have at least 16 characters').optional().meta({
    description: 'Seals secrets at rest and belongs to its database: with another one Stead does not start',
    otherwise: 'generated in `DATA_DIR/encryption.key`',
  }),
}

/** What leaves for those who watch it. */
export const TRACES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional().meta({
    description:
      'A collector of OpenTelemetry (OTLP over HTTP, JSON): each call of a model is a span at `/v1/traces` there',
    otherwise: 'no traces',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .min(1)
    .optional()
    .describe('Headers for that collector: `name=value`, with commas between, values percent-encoded'),
  OTEL_SERVICE_NAME: z.string().min(1).default('stead').describe('What this service is called in traces'),
}
