import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { ForgotPasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Notice, Patience } from '../ui/notice.tsx'
import { AuthFrame, Honeypot } from './auth-frame.tsx'
import { providersQuery, requestPasswordLink } from './session.ts'

/** The reset link, depending on whether the server can deliver it. */
const leads = {
  'by-mail': 'We email you a link to reset it.',
  'to-log': 'This server sends no email. The reset link is written to the server log for the administrator.',
  nowhere: 'This server sends no email.',
}

/** Page `/forgot-password`. */
export function ForgotPasswordPage() {
  const links = useQuery(providersQuery).data?.links
  return (
    <AuthFrame
      title="Forgot your password?"
      lead={
        <>
          {/* Reserves space until the delivery method is known, because the page is centered. */}
          <span className={links ? undefined : 'invisible'}>{leads[links ?? 'by-mail']} </span>
          <Link to="/login" className="font-medium text-accent underline">
            Back to sign in
          </Link>
        </>
      }
    >
      {links === 'nowhere' ? <AskTheOperator /> : <LinkForm isMailed={links === 'by-mail'} />}
    </AuthFrame>
  )
}

function AskTheOperator(): ReactNode {
  return (
    <Notice tone="note" title="Ask your administrator">
      <p>
        They can reset the password with <code>stead user reset-password EMAIL --password-stdin</code>.
      </p>
    </Notice>
  )
}

function LinkForm({ isMailed }: { isMailed: boolean }) {
  const [answer, setAnswer] = useState<string | null>(null)
  const form = useForm(
    ForgotPasswordRequest,
    async (body) => setAnswer((await requestPasswordLink(body)).message),
    (error) => (error instanceof ApiError && error.status === 400 ? 'email' : null),
  )
  return (
    <Form form={form} className="grid gap-4">
      {form.isDone && answer && (
        <Notice tone="good" title={isMailed ? 'Check your email' : 'Check the server log'}>
          {answer}. It expires in one hour.
        </Notice>
      )}
      <TextField label="Email" name="email" type="email" autoComplete="username" autoFocus />
      <Honeypot />
      <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
        {isMailed ? (form.isDone ? 'Resend link' : 'Send link') : 'Create link'}
      </Button>
      <Patience isPending={form.isPending}>Verifying that you are human. This takes a few seconds.</Patience>
    </Form>
  )
}
