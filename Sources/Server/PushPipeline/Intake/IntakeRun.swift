import PushTime

/// What holds for one run of messages.
struct IntakeRun {
    var isBegun = false
    var now = UnixSeconds(0)
    var backlog = 0
    var number: UInt64 = 0
}
