#if canImport(ActivityKit)
public import ActivityKit

extension DeviceRegistrar {
    /// Registers the tokens that start activities of a type, as the system gives them. Returns when the task is canceled.
    ///
    /// Call it at each launch: the system gives the present token again.
    ///
    /// - Parameter type: The type of the activities, as the backend names it; by default the name of the attributes.
    public nonisolated func observeStartTokens<Attributes: ActivityAttributes>(
        of attributes: Attributes.Type, type: String? = nil
    ) async {
        let purpose = TokenPurpose.starting(type ?? "\(attributes)")
        for await data in Activity<Attributes>.pushToStartTokenUpdates {
            if let token = PushToken(data) { await register(token, for: purpose) }
        }
    }

    /// Registers the tokens that update an activity, as the system gives them: one at its start, and others while it
    /// lives. Returns when the activity has ended, or the task is canceled.
    ///
    /// - Parameters:
    ///   - name: The name by which the backend addresses the activity. Several phones may have the same.
    ///   - type: The type of the activity, as the backend names it; by default the name of the attributes.
    public nonisolated func observe<Attributes: ActivityAttributes>(
        _ activity: Activity<Attributes>, name: String, type: String? = nil
    ) async {
        let purpose = TokenPurpose.updating(name, type: type ?? "\(Attributes.self)")
        for await data in activity.pushTokenUpdates {
            if let token = PushToken(data) { await register(token, for: purpose) }
        }
        if !Task.isCancelled { await remove(purpose) }
    }
}
#endif
