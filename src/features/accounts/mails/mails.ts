import type { Mail } from '../../../adapters/mail/mail.ts'

/** Every mail that accounts send. Those with a `page` carry a link to it. */
export const MAILS = {
  'reset-password': {
    subject: 'Reset your password',
    lines: [
      'Somebody, hopefully you, asked for a new password for your account.',
      'This link lets you choose one. It works once, for one hour.',
    ],
    button: 'Choose a new password',
    page: '/reset-password',
    end: 'If it was not you, ignore this mail: nothing changes.',
  },
  'account-created': {
    subject: 'Your account is ready',
    lines: [
      'An administrator created an account for this address.',
      'This link lets you choose a password. It works once, for seven days.',
    ],
    button: 'Choose a password',
    page: '/reset-password',
    end: 'If you did not expect this mail, ignore it.',
  },
  'verify-email': {
    subject: 'Confirm your email address',
    lines: ['Confirm that this address is yours.', 'The link works once, for one day.'],
    button: 'Confirm this address',
    page: '/verify-email',
    end: 'If you have no account here, ignore this mail.',
  },
  'change-email': {
    subject: 'Confirm your new email address',
    lines: [
      'Somebody, hopefully you, wants to sign in with this address from now on.',
      'Confirm that it is yours. The link works once, for one day.',
    ],
    button: 'Use this address',
    page: '/verify-email',
    end: 'If it was not you, ignore this mail: nothing changes.',
  },
  'email-change-asked': {
    subject: 'Your email address is about to change',
    lines: [
      'Somebody, hopefully you, asked to change the address of your account.',
      'It changes when the link that was mailed to the new address is followed.',
    ],
    end: 'If it was not you, change your password now and look at the signed-in devices in your settings.',
  },
  'email-changed': {
    subject: 'Your email address was changed',
    lines: ['The address of your account is a different one now, and this one no longer signs in.'],
    end: 'If it was not you, write to the people who run this service.',
  },
  'password-changed': {
    subject: 'Your password was changed',
    lines: ['Your account has a new password, and other devices were signed out.'],
    end: 'If it was not you, ask for a new password from the sign-in page now.',
  },
  test: {
    subject: 'Mail of this server arrives',
    lines: ['An administrator asked whether mail of this server gets through.', 'It does.'],
    end: 'There is nothing for you to do.',
  },
  'usage-50': {
    subject: 'Half of this month’s tokens are used',
    lines: ['Your agents and keys have used half of the tokens that your plan has for this month.', 'Nothing stops.'],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'usage-80': {
    subject: '80 % of this month’s tokens are used',
    lines: [
      'Your agents and keys have used 80 % of the tokens that your plan has for this month.',
      'Nothing stops yet.',
    ],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'usage-100': {
    subject: 'All of this month’s tokens are used',
    lines: [
      'Your agents and keys have used all of the tokens that your plan has for this month.',
      'Further calls are refused until the next month begins.',
    ],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'key-usage-50': {
    subject: 'Half of a key’s monthly limit is used',
    lines: ['One of your API keys has used half of what it may use this month.', 'Nothing stops.'],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'key-usage-80': {
    subject: '80 % of a key’s monthly limit is used',
    lines: ['One of your API keys has used 80 % of what it may use this month.', 'Nothing stops yet.'],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'key-usage-100': {
    subject: 'All of a key’s monthly limit is used',
    lines: [
      'One of your API keys has used all of what it may use this month.',
      'Further calls are refused until the next month begins.',
    ],
    end: 'The costs page shows what used them. You can switch these mails off in your settings.',
  },
  'payment-approval-wanted': {
    subject: 'A payment waits for your approval',
    lines: [
      'A payment from one of your wallets is above what may be paid without asking you.',
      'The wallets page of the dashboard shows whom it goes to and how much it is. Without an answer it is denied by itself.',
    ],
    end: 'Further payments within ten minutes come without a mail of their own.',
  },
  'clone-payment-undone': {
    subject: 'The payment for a clone was taken back',
    lines: [
      'The chain took back the block that held your payment for a cloned agent, so it is not paid for any more.',
      'The agent goes on. Usually the same payment is in another block soon, and then there is nothing to do.',
    ],
    end: 'The overview of the agent says so for as long as the payment is missing, and whoever runs this server sees it as well.',
  },
  'payment-failed': {
    subject: 'Your card could not be charged',
    lines: [
      'The payment for your subscription did not go through. It will be tried again in the next days.',
      'Everything goes on until then.',
    ],
    end: 'The billing page leads to where you can change the card.',
  },
  'payment-made-good': {
    subject: 'Your payment went through',
    lines: ['The payment for your subscription went through after all.', 'There is nothing for you to do.'],
    end: 'The billing page has the receipt.',
  },
  'grace-ended': {
    subject: 'Your subscription is paused',
    lines: [
      'The payment for your subscription has not gone through for a while, and what it paid for has stopped.',
      'Nothing was deleted. It comes back as soon as the payment goes through.',
    ],
    end: 'The billing page leads to where you can change the card.',
  },
  'duplicate-subscription': {
    subject: 'One of your two subscriptions is ended',
    lines: [
      'Two plans were paid for your account. The cheaper one, or the older of equal ones, is ended now.',
      'What is left of what you paid for it is credited to your next invoices.',
    ],
    end: 'The billing page shows the one that goes on.',
  },
  'subscription-ended': {
    subject: 'Your subscription has ended',
    lines: ['Your subscription has ended and your card is charged no more.', 'Nothing was deleted.'],
    end: 'The billing page is where you can subscribe again.',
  },
} as const
export type MailName = keyof typeof MAILS

/**
 * The text and HTML of a mail. Nothing in it comes from a person (names could carry a stranger's advertisement); the link
 * is built from the configured address of the app alone.
 */
export function composeMail(name: MailName, to: string, link: { appUrl: string; token: string } | null): Mail {
  const mail = MAILS[name]
  const url = 'page' in mail && link ? `${link.appUrl}${mail.page}?token=${encodeURIComponent(link.token)}` : null
  const blocks = [...mail.lines, ...(url ? [url] : []), mail.end]
  return { to, subject: mail.subject, text: `${blocks.join('\n\n')}\n`, html: toHtml(name, url) }
}

function toHtml(name: MailName, url: string | null): string {
  const mail = MAILS[name]
  const paragraphs = mail.lines.map((line) => `<p>${escapeHtml(line)}</p>`)
  const button =
    'button' in mail && url
      ? [
          `<p><a href="${escapeHtml(url)}" style="${BUTTON}">${escapeHtml(mail.button)}</a></p>`,
          `<p style="${SMALL}">Or open this address: ${escapeHtml(url)}</p>`,
        ]
      : []
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(mail.subject)}</title></head>`,
    `<body style="${PAGE}">`,
    `<h1 style="font-size:20px">${escapeHtml(mail.subject)}</h1>`,
    ...paragraphs,
    ...button,
    `<p style="${SMALL}">${escapeHtml(mail.end)}</p>`,
    '</body></html>',
    '',
  ].join('\n')
}

const PAGE = 'margin:0 auto;max-width:520px;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#18181b'
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:8px;background:#18181b;color:#ffffff;text-decoration:none'
const SMALL = 'font-size:13px;color:#71717a;overflow-wrap:anywhere'

function escapeHtml(text: string): string {
  return Bun.escapeHTML(text)
}
