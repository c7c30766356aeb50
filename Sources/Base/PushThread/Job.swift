/// A unit of work for an executor. A job of an actor needs no allocation; a closure needs its own.
package enum Job {
    case job(UnownedJob)
    case closure(@Sendable () -> Void)
}
