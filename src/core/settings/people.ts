import { z } from 'zod'
import { issuer, list, perMinute, url } from './forms.ts'

/** Administrators, sign-up and mail. */
export const PEOPLE = {
  ADMIN_EMAILS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe(
      'Addresses of administrators; effective when the address is verified, or at once if mail is not configured',
    ),
  ADMIN_EMAIL: z
    .email('must be an e-mail address')
    .toLowerCase()
    .optional()
    .describe(
      'Creates the first account at the first start, with `ADMIN_PASSWORD`, as an administrator with a verified address',
    ),
  ADMIN_PASSWORD: z
    .string()
    .min(8, 'must have at least 8 characters')
    .max(1024, 'must have at most 1024 characters')
    .optional()
    .describe('Password of that account; ignored when an account exists'),
  SIGN_UP: z
    .enum(['open', 'invite', 'closed'])
    .default('open')
    .describe('`open`: anyone; `invite`: with an invite code; `closed`: accounts are created by administrators only'),
  DEFAULT_PLAN: z.string().min(1).max(40).optional().meta({
    description:
      'Plan of accounts that an administrator creates or invites, and in `home` mode of every account; `free` for none',
    otherwise: 'in `home` mode `network`, else none',
    form: 'name of a plan',
  }),
  PLANS_FILE: z.string().min(1).optional().meta({
    description:
      'JSON list of additional plans: `name`, `models`, `agents`, `skills`, `messagesPerDay`, `tokensPerMonth`, `usdPerMonth`, `storageGb`',
    otherwise: 'built-in plans and those of the dashboard',
    form: 'file',
  }),
  BOT_DETECTION: z
    .enum(['off', 'basic', 'pow'])
    .default('basic')
    .describe(
      'Checks at sign-up and password reset. `basic`: rejects declared crawlers and a filled hidden field, and requires a solved challenge of `GET /api/auth/challenge` after 100 sign-ups an hour from one /24 (IPv6: /64); `pow`: always requires one; `off`: none',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an smtp or smtps URL' })
    .meta({ form: '`smtp://` or `smtps://` URL' })
    .optional()
    .describe(
      'Mail server for password resets, address verification and notifications; without it addresses are not verified, links are logged, and in production password resets return 503',
    ),
  MAIL_FROM: z.string().min(3).default('Stead <stead@localhost>').describe('Sender of mails'),
}

/** Sign-in methods besides the password. */
export const SIGN_IN = {
  IDP_A_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Client id for sign-in with GitHub; register the callback `<APP_URL>/api/auth/idp-a/callback`'),
  IDP_A_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret of `IDP_A_CLIENT_ID`'),
  IDP_A_AUTHORIZE_URL: url
    .default('https://github.com/login/oauth/authorize')
    .describe('Authorization endpoint of a provider with the API of GitHub'),
  IDP_A_TOKEN_URL: url
    .default('https://github.com/login/oauth/access_token')
    .describe('Token endpoint of a provider with the API of GitHub'),
  IDP_A_API_URL: url.default('https://api.github.com').describe('API of a provider with the API of GitHub'),
  IDP_B_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Client id for sign-in with an OpenID Connect provider; register the callback `<APP_URL>/api/auth/idp-b/callback`',
    ),
  IDP_B_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret of `IDP_B_CLIENT_ID`'),
  IDP_B_ISSUER: issuer.default('https://accounts.google.com').describe('Issuer of the OpenID Connect provider'),
  RISC_ISSUER: issuer.optional().meta({
    description: 'Issuer of the security events that `POST /api/security/risc` accepts',
    otherwise: '`IDP_B_ISSUER`',
  }),
  RISC_CONFIGURATION_URL: url.optional().meta({
    description: 'Configuration document with the keys of that issuer',
    otherwise: '`<RISC_ISSUER>/.well-known/risc-configuration`',
  }),
  RISC_AUDIENCES: list.meta({
    description: 'Accepted audiences of security events; without one all events are refused',
    otherwise: '`IDP_B_CLIENT_ID`',
  }),
  WALLET_EMAIL_DOMAIN: z.string().min(1).toLowerCase().optional().meta({
    description:
      'Wallet accounts have the address `<wallet>@<WALLET_EMAIL_DOMAIN>`; such addresses cannot be registered',
    otherwise: '`wallet.<DOMAIN>`',
  }),
  SIWE_CHAIN_ID: z.coerce.number().int().positive().default(8453).describe('Chain id that wallets sign in with'),
  SOCIAL_ID_ISSUER: issuer
    .optional()
    .describe('Issuer of the identity tokens that `POST /api/auth/social-id/verify` accepts; unset: 503'),
  SOCIAL_ID_AUDIENCE: z.string().min(1).optional().describe('Audience of those tokens'),
}

/** Rate limits per minute. */
export const RATES = {
  RATE_LIMIT_BACKEND: perMinute(120).describe(
    '`/api/*` of the backend API; the same number applies to each bearer on `/v1`',
  ),
  RATE_LIMIT_AI: perMinute(30).describe('`/api/ai/*`'),
  RATE_LIMIT_DEPLOYMENTS: perMinute(5).describe('`POST /api/deployments`'),
  RATE_LIMIT_GATEWAY: perMinute(100).describe('`/api/x402` and `/api/v1/gateway`, each'),
  RATE_LIMIT_AGENTS: perMinute(100).describe('`/api/agents` of the web API'),
  RATE_LIMIT_CHAT: perMinute(60).describe('`/api/chat` of the web API'),
  RATE_LIMIT_INSTANCE: perMinute(30).describe('`/api/instance/*`'),
  RATE_LIMIT_PROVISION: perMinute(5).describe('`/api/provision` of the web API'),
  RATE_LIMIT_DEMO: perMinute(20).describe('`POST /api/demo/chat`'),
  RATE_LIMIT_SUMMARIZER: perMinute(60).describe('The summarizer API'),
  RATE_LIMIT_REGISTER: perMinute(20).describe('Sign-up'),
  RATE_LIMIT_LOGIN: perMinute(20).describe('Sign-in with any method'),
  RATE_LIMIT_PASSWORD: perMinute(10).describe('Password reset requests and resets'),
}
