import PushTime

extension Pipeline {
    /// Returns the state of all parts for the metrics. It waits for loops only, and never for the disk: a scrape must show
    /// that the disk hangs.
    func reading() async -> PipelineMetrics.Reading {
        var reading = PipelineMetrics.Reading()
        reading.intake = await intake.counts
        reading.events = await bus.status
        reading.devices = registry.status
        reading.refused = refusedHandshakes.counts
        reading.obstacle = obstacle
        reading.waits = await router.waits()
        reading.feedback = await feedback.status
        // The ledger is read last, so that no other part is ahead of it.
        reading.ledger = ledger.latest
        reading.busy = ledger.busyTime(at: .current())
        return reading
    }
}
