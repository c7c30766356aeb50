import PushModel
import PushPostgreSQL
import PushTime

/// Changes of brakes.
extension PostgreSQLCore {
    /// Stores a change of a brake and the row of its event, unless another node was first.
    func decide(_ decision: BrakeDecision, reply: @escaping @Sendable (BrakeVerdict) -> Void) {
        let section = PostgreSQLSection()
        let statement = decision.isOn ? SharedStatements.setBrake : SharedStatements.releaseBrake
        let event = BrakeEvent(of: decision)
        section.call(statement) { [settings, author = shared.author] in
            $0.append(text: decision.app.name)
            $0.append(int8: settings.clock().milliseconds)
            $0.append(int8: decision.generation)
            $0.append(text: author)
            $0.append(text: event.name)
            $0.append(int8Array: event.numbers)
        }
        write(section) { result in
            switch result {
            case .done(let results): reply(results.first?.affectedRows == 1 ? .stored : .overtaken)
            case .refused(let failure): reply(.failed("\(failure)"))
            case .unknown(let reason): reply(.unknown(reason))
            case .notSent(let reason): reply(.failed(reason))
            }
        }
    }
}
