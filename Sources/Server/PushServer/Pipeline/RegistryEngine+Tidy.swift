import PushLoop
import PushStore
import PushTime

extension RegistryEngine {
    /// How often addresses of Live Activities are looked for that have ended.
    private static var interval: Duration { .seconds(300) }

    /// Ends and removes addresses of Live Activities when it is time, until the task is canceled.
    ///
    /// - Parameter age: Returns the time by which stored data ages; nil at the end.
    func keepTidy(by age: @Sendable () async -> WallTime?, log: Logger) async {
        while !Task.isCancelled {
            do {
                while let age = await age(), try await tidyActivities(at: age), !Task.isCancelled {}
            } catch {
                if Task.isCancelled { return }
                log.warning("cannot end addresses of Live Activities, retrying", [.error: "\(error)"])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
