import { z } from 'zod'
import { cidrs, days, flag, HOST_NAME, hostName, list, origin, port, url } from './forms.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Listeners, data and logs. */
export const PLACE = {
  NODE_ENV: z
    .string()
    .default('development')
    .describe('`production` refuses a short `INTERNAL_API_KEY` and does not log links that could not be mailed'),
  HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address that the three listeners bind to; `0.0.0.0` for all addresses'),
  WEB_PORT: port(3000).describe('Port of the dashboard and the web API; `0` selects a free port and prints it'),
  BACKEND_PORT: port(3001).describe('Port of the backend API and `/v1`; `0` selects a free port and prints it'),
  SUMMARIZER_PORT: port(3100).describe('Port of the summarizer API; `0` selects a free port and prints it'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('./data')
    .describe('Folder of the database, generated keys, agent data and backups; created with mode 0700'),
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
  OBJECTS_URL: z
    .string()
    .regex(/^(?:file:.|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/|$))/, 'must be s3://bucket/prefix or a file: URL')
    .optional()
    .meta({
      description:
        'Where snapshots of agents, videos and, unless `BACKUP_TO` is set, backups are stored: `s3://bucket/prefix` with the `S3_…` settings, or a folder as a `file:` URL. Required in a cluster, whose nodes share it',
      otherwise: '`file:<DATA_DIR>`',
      form: '`s3://bucket/prefix` or `file:` URL',
    }),
  DEPLOYMENT_MODE: z.enum(['cloud', 'home', 'link']).optional().meta({
    description:
      '`home`: the first account becomes the administrator and agents need no Docker; `cloud`: a platform that other services call',
    otherwise: '`cloud` if `INTERNAL_API_KEY` is set, else `home`',
  }),
  MIN_FREE_DISK_MB: z.coerce
    .number()
    .nonnegative()
    .default(256)
    .describe(
      'Below this free space in megabytes, writes of users return 507, `/readyz` returns 503 and operators are notified',
    ),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe('Least severe level that is logged; `silent` logs nothing'),
  LOG_FORMAT: z.enum(['pretty', 'json']).optional().meta({
    description: 'Format of log lines: `pretty` for reading, `json` with one object per line',
    otherwise: '`pretty` on a terminal, else `json`',
  }),
  LOG_FILE: z.string().min(1).optional().meta({
    description: 'File that the log is appended to, created with mode 0600; SIGHUP reopens it',
    otherwise: 'standard output',
  }),
  RELEASE_FEED_URL: url.optional().meta({
    description:
      'URL that is requested once a day for the newest release, shown to administrators: JSON with `version` and `url`, or a release of the GitHub API',
    otherwise: 'off: no request is made',
  }),
  PLANNED_ENDPOINTS: flag(true).describe(
    '`false` disables the file explorer, `/api/usage/*` and `POST /api/keys/validate`',
  ),
}

/** Retention of details. */
export const RETENTION = {
  RETENTION_USAGE_DAYS: days(400).describe('Days until usage records are deleted; daily totals are kept; `0`: never'),
  RETENTION_TOOL_EVENTS_DAYS: days(90).describe(
    'Days until tool events are deleted; daily totals are kept; `0`: never',
  ),
  RETENTION_MESSAGES_DAYS: days(0).describe(
    'Days until messages are deleted; `0`: never, the storage of the plan limits them',
  ),
  RETENTION_AUDIT_DAYS: days(400).describe('Days until audit log entries are deleted; `0`: never'),
  RETENTION_SECURITY_EVENTS_DAYS: days(400).describe(
    'Days until security events are deleted; older events are refused; `0`: never',
  ),
  RETENTION_INBOX_DAYS: days(90).describe('Days until mail to agents is deleted; `0`: never'),
}

/** Host names and proxies. */
export const NAMES = {
  APP_URL: origin.optional().meta({
    description: 'Public origin of the dashboard, used in mails and for sign-in; with `https` cookies are `Secure`',
    otherwise: '`http://localhost:<WEB_PORT>`',
  }),
  DOMAIN: z.string().min(1).toLowerCase().default('localhost').describe('Domain of the platform'),
  AGENTS_DOMAIN: hostName.optional().meta({
    description:
      'Agents are served at `<id>.<AGENTS_DOMAIN>`; a separate registrable domain prevents agents from setting cookies for the dashboard',
    otherwise: '`agents.<DOMAIN>`',
  }),
  ALLOWED_HOSTS: list
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be a comma-separated list of host names, without scheme or port',
    )
    .describe(
      'Additional host names that are served; other names than these, `APP_URL`, `DOMAIN`, agents, `localhost` and IP addresses get 421',
    ),
  TRUSTED_PROXIES: cidrs.describe('Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are used'),
}

/** The platform's own secrets. */
export const OWN_SECRETS = {
  INTERNAL_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Bearer token of the backend API; without it callers from outside get 500; at least 32 characters in production',
    ),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional().meta({
    description: 'Bearer token of `GET /metrics` on the backend port',
    otherwise: 'only callers on the same machine, without a token',
  }),
  ENCRYPTION_KEY: z.string().min(16, 'must have at least 16 characters').optional().meta({
    description: 'Encrypts secrets in the database; Stead does not start with a key that does not match the database',
    otherwise: 'generated in `DATA_DIR/encryption.key`',
  }),
}

/** OpenTelemetry traces. */
export const TRACES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional().meta({
    description: 'OpenTelemetry collector (OTLP over HTTP, JSON) that spans are sent to at `/v1/traces`',
    otherwise: 'no traces',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .min(1)
    .optional()
    .describe('Headers for the collector: `name=value`, separated by commas, values percent-encoded'),
  OTEL_SERVICE_NAME: z.string().min(1).default('stead').describe('Service name in traces'),
}
