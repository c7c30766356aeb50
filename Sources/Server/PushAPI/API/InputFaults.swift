import PushWire

/// The faults that were found in an input so far, and the place that is being read.
struct InputFaults {
    /// The maximum number of faults in an answer. Further ones are counted only.
    static let limit = 100

    private(set) var list: [InputFault] = []
    private(set) var count = 0
    /// The place of the value that is being read.
    private(set) var place = InputFault.Place.pointer("")

    var isEmpty: Bool { count == 0 }

    mutating func add(_ code: InputFault.Code, detail: String) {
        let place = place
        add(InputFault(code, at: place, detail: detail))
    }

    /// Adds a fault. Its text is not made if there are too many faults to return it.
    mutating func add(_ fault: @autoclosure () -> InputFault) {
        count += 1
        if list.count < Self.limit { list.append(fault()) }
    }

    /// Runs `body` with the place of a member or an element of the present place.
    mutating func inside<Value>(_ name: String, body: (inout InputFaults) -> Value) -> Value {
        let outer = place
        defer { place = outer }
        if case .pointer(let pointer) = outer { place = .pointer(pointer + "/" + JSONPointer.escaped(name)) }
        return body(&self)
    }

    mutating func at<Value>(_ place: InputFault.Place, body: (inout InputFaults) -> Value) -> Value {
        let outer = self.place
        defer { self.place = outer }
        self.place = place
        return body(&self)
    }
}
