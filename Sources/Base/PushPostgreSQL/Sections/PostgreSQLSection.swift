/// Calls of statements that the server commits together or not at all.
///
/// A section is written once and sent at once: libpq copies it. It can then be cleared and written again, and keeps its
/// memory. It must not contain BEGIN, COMMIT, ROLLBACK or COPY.
@safe
package final class PostgreSQLSection {
    private struct Call {
        let statement: PostgreSQLStatement
        let slots: Range<Int>
    }

    private var parameters = PostgreSQLParameters()
    private var calls: [Call] = []
    // For libpq, and kept for the next section.
    private var values: [UnsafePointer<CChar>?] = unsafe []
    private var lengths: [CInt] = []
    private var formats: [CInt] = []

    package init() {}

    package var callCount: Int { calls.count }

    /// The size of all parameters.
    package var byteCount: Int { parameters.buffer.count }

    /// Appends a call. `body` appends the parameters in their order.
    package func call(
        _ statement: PostgreSQLStatement, parameters body: (inout PostgreSQLParameters) -> Void = { _ in }
    ) {
        let first = parameters.slots.count
        body(&parameters)
        calls.append(Call(statement: statement, slots: first..<parameters.slots.count))
    }

    /// Removes all calls, and keeps the memory.
    package func clear() {
        parameters.clear()
        calls.removeAll(keepingCapacity: true)
    }

    /// Why the section cannot be sent; nil if it can.
    var fault: String? {
        if calls.isEmpty { return "the section is empty" }
        if let fault = parameters.fault { return fault }
        for call in calls where call.slots.count != call.statement.parameterTypes.count {
            return "the statement \(call.statement.name) has \(call.statement.parameterTypes.count) parameters; the "
                + "section gives it \(call.slots.count)"
        }
        return nil
    }

    var statements: some Sequence<PostgreSQLStatement> { calls.lazy.map(\.statement) }

    /// Calls `body` with each call in order. Returns false as soon as `body` does.
    func forEachCall(_ body: (borrowing SectionCall) -> Bool) -> Bool {
        let start = unsafe parameters.buffer.start
        for call in calls {
            unsafe values.removeAll(keepingCapacity: true)
            lengths.removeAll(keepingCapacity: true)
            formats.removeAll(keepingCapacity: true)
            for slot in parameters.slots[call.slots] {
                let value = unsafe slot.length < 0 ? nil : start.map { unsafe $0 + slot.offset }
                unsafe values.append(value?.assumingMemoryBound(to: CChar.self))
                lengths.append(max(0, slot.length))
                formats.append(1)
            }
            let isSent = unsafe values.withUnsafeBufferPointer { values in
                unsafe lengths.withUnsafeBufferPointer { lengths in
                    unsafe formats.withUnsafeBufferPointer { formats in
                        unsafe body(
                            SectionCall(
                                statement: call.statement, values: values, lengths: lengths, formats: formats))
                    }
                }
            }
            guard isSent else { return false }
        }
        return true
    }
}

/// One call in the form that libpq takes. The pointers live during a call of ``PostgreSQLSection/forEachCall(_:)``.
@unsafe
struct SectionCall {
    let statement: PostgreSQLStatement
    let values: UnsafeBufferPointer<UnsafePointer<CChar>?>
    let lengths: UnsafeBufferPointer<CInt>
    let formats: UnsafeBufferPointer<CInt>
}
