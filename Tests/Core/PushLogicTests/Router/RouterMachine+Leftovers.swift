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
        check("expiring", expiring.count)
        check("expiryScan", expiryScan == nil ? 0 : 1)
        check("pagesToAsk", pagesToAsk.count)
        check("claimsToAsk", claimsToAsk.count)
        check("failingAlone", failingAlone.count)
        check("failures", failures.count)
        check("stopped", stopped.count)
        check("closing", parts.closing.count + parts.new.count)
        check("newCancels", newCancels.count)
        check("recalls", recalls.count)
        check("stale", staleCount)
        check("queued", queuedCount)
        check("look", look.lane == nil ? 0 : 1)
        check("indexing", activities.indexing)
        check("parked", activities.waiting.values.reduce(0) { $0 + $1 })
        check("droppedApps", droppedApps)
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
