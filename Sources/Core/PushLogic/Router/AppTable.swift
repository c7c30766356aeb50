import PushModel

/// The apps that the router knows.
struct AppTable {
    private var states: [AppState] = []
    private var indices: [AppID: AppIndex] = [:]
    /// The app that was looked up last.
    private var last: AppIndex?
    /// The position of the app that is dispatched first in the next tick.
    var firstInTurn = 0

    var count: Int { states.count }
    var all: some RandomAccessCollection<AppIndex> { (0..<states.count).lazy.map { AppIndex($0) } }

    subscript(app: AppIndex) -> AppState {
        // Inlined, the getter reads single fields of the element and does not copy it.
        @inline(__always) get { states[app.position] }
        @inline(__always) _modify { yield &states[app.position] }
    }

    /// Returns the index of an app; nil if the router does not know it.
    mutating func index(of id: AppID) -> AppIndex? {
        if let last, states[last.position].id == id { return last }
        guard let app = indices[id] else { return nil }
        last = app
        return app
    }

    mutating func add(_ state: AppState) -> AppIndex {
        let app = AppIndex(states.count)
        states.append(state)
        indices[state.id] = app
        last = app
        return app
    }
}
