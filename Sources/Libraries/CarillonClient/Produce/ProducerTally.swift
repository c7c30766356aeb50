/// The counts of a producer since the last report.
struct ProducerTally {
    private var accepted = 0
    private var duplicate = 0
    private var rejected = 0
    private var cancelled = 0
    private var failed = 0
    private var spooled = 0
    /// The number of `busy` answers.
    var busy = 0
    /// The number of messages in the spool that were damaged.
    var lost = 0
    /// The number of messages and lines that are not acks.
    var malformed = 0

    mutating func count(_ outcome: ProducerMachine.Outcome) {
        switch outcome {
        case .answered(.accepted): accepted += 1
        case .answered(.duplicate): duplicate += 1
        case .answered(.rejected): rejected += 1
        case .answered(.cancelled), .answered(.tooLate): cancelled += 1
        case .answered(.busy): busy += 1
        case .failed: failed += 1
        case .spooled: spooled += 1
        }
    }

    mutating func report(to metrics: any ClientMetrics, machine: ProducerMachine) {
        let counts = [
            ("accepted", accepted), ("duplicate", duplicate), ("rejected", rejected), ("cancelled", cancelled),
            ("busy", busy), ("failed", failed), ("spooled", spooled),
            ("lost", lost), ("malformed", malformed),
        ]
        for (status, number) in counts where number > 0 {
            metrics.count("carillon_client_acks_total", labels: [("status", status)], by: number)
        }
        metrics.gauge("carillon_client_unacknowledged", value: machine.unacknowledged)
        metrics.gauge("carillon_client_waiting", value: machine.waiting)
        self = ProducerTally()
    }
}
