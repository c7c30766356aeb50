/// One thing to run on an executor. An actor's job costs no allocation; a closure costs its own.
package enum Job {
    case job(UnownedJob)
    case closure(@Sendable () -> Void)
}
