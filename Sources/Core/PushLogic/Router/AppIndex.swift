/// The index of an app in the router. It never changes.
package struct AppIndex: Hashable, Sendable {
    private let number: UInt32

    init(_ position: Int) { number = UInt32(position) }

    /// The position in an array with an element for each app, in the order in which the router learned of them.
    package var position: Int { Int(number) }

    /// The lanes of the app, in the order of ``LaneKind``.
    var lanes: AppLanes { AppLanes(app: self) }
}

/// The six lanes of one app.
struct AppLanes: RandomAccessCollection {
    let app: AppIndex

    var startIndex: Int { 0 }
    var endIndex: Int { LaneKind.count }
    subscript(position: Int) -> LaneID { LaneID(app: app, kind: LaneKind(position)) }
}
