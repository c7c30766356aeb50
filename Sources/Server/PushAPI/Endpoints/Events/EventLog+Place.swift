import PushModel

extension EventLog {
    /// Throws if a place names a part that this log does not have: on a single node, every part but 0. Such a place is
    /// one of another log, and its numbers mean nothing in this one.
    func check(_ place: LogPosition?, in parameter: String) throws(Problem) {
        guard let part = place?.parts.last?.part, part >= partCount else { return }
        let own = partCount == 1 ? "a place in it is one number" : "its parts are 0 to \(partCount - 1)"
        throw .invalid(
            InputFault(.badValue, at: .parameter(parameter), detail: "this log does not have the part \(part); \(own)"))
    }
}
