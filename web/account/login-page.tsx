import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { LoginRequest } from '../../src/features/accounts/schemas.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { describeSignInError } from './return-path.ts'
import { signIn } from './session.ts'

const route = getRouteApi('/login')

/** `/login`: signs in and goes back to where the visitor was sent from. */
export function LoginPage() {
  const client = useQueryClient()
  const router = useRouter()
  const { redirect, error, created } = route.useSearch()
  const { formRef, problem, isPending, onSubmit } = useForm(
    LoginRequest,
    async (credentials) => {
      await signIn(client, credentials)
      router.history.push(redirect ?? '/agents')
    },
    () => null,
  )
  return (
    <AuthFrame
      title="Sign in"
      lead={
        <>
          New here?{' '}
          <Link to="/signup" search={redirect ? { redirect } : {}} className="font-medium text-accent underline">
            Create an account
          </Link>
        </>
      }
    >
      {error && !problem && (
        <Notice tone="problem" title="You are not signed in">
          {describeSignInError(error)}
        </Notice>
      )}
      {created && !problem && (
        <Notice tone="good" title="Your account is ready">
          Sign in to continue.
        </Notice>
      )}
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid gap-4">
        {problem?.form && <Notice tone="problem">{problem.form}</Notice>}
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          autoFocus
          error={problem?.fields.email}
        />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          error={problem?.fields.password}
        />
        <Button type="submit" look="primary" isPending={isPending} className="mt-1 min-h-10">
          Sign in
        </Button>
      </form>
    </AuthFrame>
  )
}
