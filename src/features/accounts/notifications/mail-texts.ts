import type { Mail } from '../../../adapters/mail/mail.ts'

/** All mails about accounts. Those with a `page` contain a link to it. */
export const MAILS = {
  'reset-password': {
    subject: 'Reset your password',
    lines: [
      'We received a request to reset the password of your account.',
      'Use this link to choose a new password. It works once and expires in one hour.',
    ],
    button: 'Reset password',
    page: '/reset-password',
    end: 'If you did not request this, ignore this email. Nothing changes.',
  },
  'account-created': {
    subject: 'Your account is ready',
    lines: [
      'An administrator created an account for this address.',
      'Use this link to choose a password. It works once and expires in seven days.',
    ],
    button: 'Choose a password',
    page: '/reset-password',
    end: 'If you did not expect this email, ignore it.',
  },
  'verify-email': {
    subject: 'Confirm your email address',
    lines: ['Confirm that this email address is yours.', 'The link works once and expires in one day.'],
    button: 'Confirm email',
    page: '/verify-email',
    end: 'If you have no account here, ignore this email.',
  },
  'change-email': {
    subject: 'Confirm your new email address',
    lines: [
      'We received a request to use this address for your account.',
      'Confirm that it is yours. The link works once and expires in one day.',
    ],
    button: 'Confirm email',
    page: '/verify-email',
    end: 'If you did not request this, ignore this email. Nothing changes.',
  },
  'email-change-asked': {
    subject: 'Your email address is about to change',
    lines: [
      'We received a request to change the email address of your account.',
      'The change takes effect once the link sent to the new address is opened.',
    ],
    end: 'If this was not you, change your password now and check the sessions in your settings.',
  },
  'email-changed': {
    subject: 'Your email address was changed',
    lines: ['The email address of your account was changed. This address can no longer sign in.'],
    end: 'If this was not you, contact the administrator.',
  },
  'password-changed': {
    subject: 'Your password was changed',
    lines: ['The password of your account was changed, and all other sessions were signed out.'],
    end: 'If this was not you, reset your password from the sign-in page now.',
  },
  test: {
    subject: 'Test email',
    lines: ['This is a test email from your Stead server.', 'Outgoing email works.'],
    end: 'No action is needed.',
  },
  'usage-50': {
    subject: '50% of this month’s tokens used',
    lines: [
      'Your agents and API keys have used 50% of your plan’s tokens for this month.',
      'All calls continue to work.',
    ],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'usage-80': {
    subject: '80% of this month’s tokens used',
    lines: [
      'Your agents and API keys have used 80% of your plan’s tokens for this month.',
      'All calls continue to work.',
    ],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'usage-100': {
    subject: 'Monthly token limit reached',
    lines: [
      'Your agents and API keys have used all of your plan’s tokens for this month.',
      'Further calls are rejected until next month.',
    ],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'key-usage-50': {
    subject: '50% of an API key’s monthly limit used',
    lines: ['One of your API keys has used 50% of its limit for this month.', 'All calls continue to work.'],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'key-usage-80': {
    subject: '80% of an API key’s monthly limit used',
    lines: ['One of your API keys has used 80% of its limit for this month.', 'All calls continue to work.'],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'key-usage-100': {
    subject: 'Monthly limit of an API key reached',
    lines: [
      'One of your API keys has reached its limit for this month.',
      'Further calls are rejected until next month.',
    ],
    end: 'See the cost page for a breakdown. You can turn these emails off in your settings.',
  },
  'payment-approval-wanted': {
    subject: 'Payment approval needed',
    lines: [
      'A payment from one of your wallets exceeds the amount allowed without approval.',
      'See the recipient and amount on the wallets page. The payment is denied if you do not respond in time.',
    ],
    end: 'Further payments within ten minutes send no separate email.',
  },
  'clone-payment-undone': {
    subject: 'Payment for a clone was reverted',
    lines: [
      'The blockchain reverted the block with your payment for a cloned agent, so the clone is currently unpaid.',
      'The agent keeps running. The payment is usually included in another block soon, and no action is needed.',
    ],
    end: 'The agent’s overview shows the missing payment until it is confirmed. The administrator sees it too.',
  },
  'payment-failed': {
    subject: 'Your card could not be charged',
    lines: [
      'The payment for your subscription failed. We will retry in the next days.',
      'Your subscription stays active until then.',
    ],
    end: 'Update your card on the billing page.',
  },
  'payment-made-good': {
    subject: 'Your payment went through',
    lines: ['The payment for your subscription succeeded.', 'No action is needed.'],
    end: 'The receipt is on the billing page.',
  },
  'grace-ended': {
    subject: 'Your subscription is paused',
    lines: [
      'The payment for your subscription has failed for a while, so its services are paused.',
      'Nothing was deleted. Services resume once the payment succeeds.',
    ],
    end: 'Update your card on the billing page.',
  },
  'duplicate-subscription': {
    subject: 'Duplicate subscription canceled',
    lines: [
      'Your account had two paid plans. We canceled the cheaper one, or the older of two equal ones.',
      'The unused amount is credited to your next invoices.',
    ],
    end: 'The billing page shows your active plan.',
  },
  'subscription-ended': {
    subject: 'Your subscription has ended',
    lines: ['Your subscription has ended. Your card will not be charged again.', 'Nothing was deleted.'],
    end: 'You can subscribe again on the billing page.',
  },
} as const
export type MailName = keyof typeof MAILS

/**
 * Composes the text and HTML of a mail. User-supplied text is left out, because names could carry advertising, and
 * links use only the configured app URL.
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
          `<p style="${SMALL}">Or open this URL: ${escapeHtml(url)}</p>`,
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
