import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ForgotPasswordRequest } from '../../src/features/accounts/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Patience } from '../ui/patience.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { Honeypot } from './honeypot.tsx'
import { requestPasswordLink } from './session.ts'

/** `/forgot-password`: has a link for a new password mailed. */
export function ForgotPasswordPage() {
  const [answer, setAnswer] = useState<string | null>(null)
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    ForgotPasswordRequest,
    async (body) => setAnswer((await requestPasswordLink(body)).message),
    (error) => (error instanceof ApiError && error.status === 400 ? 'email' : null),
  )
  return (
    <AuthFrame
      title="Forgot your password?"
      lead={
        <>
          A link in a mail lets you choose a new one.{' '}
          <Link to="/login" className="font-medium text-accent underline">
            Back to sign-in
          </Link>
        </>
      }
    >
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid gap-4">
        {problem?.form && <Notice tone="problem">{problem.form}</Notice>}
        {isDone && answer && (
          <Notice tone="good" title="Look into your mail">
            {answer}. It works for one hour.
          </Notice>
        )}
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          autoFocus
          error={problem?.fields.email}
        />
        <Honeypot />
        <Button type="submit" look="primary" isPending={isPending} className="mt-1 min-h-10">
          {isDone ? 'Send the link again' : 'Send the link'}
        </Button>
        <Patience isPending={isPending}>Making sure that you are no robot. This takes a few seconds.</Patience>
      </form>
    </AuthFrame>
  )
}
