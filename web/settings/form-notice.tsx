import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { signOut } from '../account/session.ts'
import { ApiError, hasCode } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import type { FormProblem, useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'

/** Offers a new sign-in when the session has expired or is too old; the form keeps its values. */
export function FormNotice({ problem }: { problem: FormProblem | null }) {
  if (!problem) return null
  if (isSessionTooOld(problem.cause)) return <SignInAgain message={messageOf(problem)} />
  return problem.form && <Notice tone="problem">{problem.form}</Notice>
}

function SignInAgain({ message }: { message: string }) {
  const { href } = useRouter().state.location
  const leaving = useMutation({
    mutationFn: signOut,
    onSettled: () => window.location.assign(`/login?redirect=${encodeURIComponent(href)}`),
  })
  return (
    <Notice tone="warning" role="alert" title="Sign in again">
      <p>{message} You will return to this page.</p>
      <Button className="justify-self-start" isPending={leaving.isPending} onClick={() => leaving.mutate()}>
        Sign in again
      </Button>
    </Notice>
  )
}

function isSessionTooOld(cause: unknown): boolean {
  if (hasCode(cause, 'FRESH_SESSION_REQUIRED')) return true
  return cause instanceof ApiError && cause.status === 401 && /^(unauthorized|not authenticated)/i.test(cause.message)
}

function messageOf({ cause }: FormProblem): string {
  return hasCode(cause, 'FRESH_SESSION_REQUIRED')
    ? 'Confirm your identity to continue: this action requires a recent sign-in.'
    : 'Your session has ended.'
}

/** `password` is the name of the password field in the form. */
export function secretFieldOf(password: string) {
  return (error: unknown): string | null => {
    if (!(error instanceof ApiError) || isSessionTooOld(error)) return null
    if (/password/i.test(error.message)) return password
    return /code/i.test(error.message) ? 'code' : null
  }
}

type SectionFormProps = {
  form: Pick<ReturnType<typeof useForm>, 'formRef' | 'problem' | 'isPending' | 'onSubmit'>
  action: string
  look?: 'primary'
  children: ReactNode
}

/** Shows the form's error above its fields and the submit button below. */
export function SectionForm({
  form: { formRef, problem, isPending, onSubmit },
  action,
  look,
  children,
}: SectionFormProps) {
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {children}
      <Button type="submit" {...(look && { look })} className="justify-self-start" isPending={isPending}>
        {action}
      </Button>
    </form>
  )
}
