@testable import PushLogic

extension RouterMachine {
    /// Returns the names of all parts of the state that are not empty, with their sizes. After the completion of all
    /// messages there is none, however they ended.
    func leftovers() -> [String] {
        var found: [String] = []
        func check(_ name: String, _ count: Int) { if count != 0 { found.append("\(name): \(count)") } }
        check("messages", messages.count)
        check("deliveries", deliveries.count)
        check("retries", retries.earliest == nil ? 0 : 1)
        check("expiring", expiry.messages.count)
        check("expiryScan", expiry.scan == nil ? 0 : 1)
        check("pagesToAsk", lookUps.pages.count)
        check("claimsToAsk", lookUps.claims.count)
        check("failingAlone", lookUps.failingAlone.count)
        check("failures", failures.count)
        check("stopped", cancels.stopped.count)
        check("closing", parts.closing.count + parts.new.count)
        check("newCancels", cancels.new.count)
        check("recalls", cancels.recalls.count)
        check("stale", cancels.staleCount)
        check("queued", counts.queued)
        check("look", look.lane == nil ? 0 : 1)
        check("indexing", activities.indexing)
        check("parked", activities.waiting.values.reduce(0) { $0 + $1 })
        check("droppedApps", counts.droppedApps)
        check("surplus", surplus)
        check("budget", budget.held + budget.bytes)
        for lane in lanes.all {
            let state = lanes[lane]
            let sizes = [
                state.spilled.count, state.stale.count, state.loaded.count, state.ready.count,
                state.retryQueue.count, state.waits.count, state.begun, state.prepared, state.memory.held,
                state.memory.bytes, state.memory.loading, state.loading.count, state.overtaken.count,
            ]
            if sizes.contains(where: { $0 != 0 }) { found.append("lane \(lane.position): \(sizes)") }
        }
        for app in apps.all {
            let state = apps[app]
            let sizes = [state.out, state.retrying, state.underWay, state.unanswered.count]
            if sizes.contains(where: { $0 != 0 }) { found.append("app \(state.id.name): \(sizes)") }
        }
        return found
    }
}
