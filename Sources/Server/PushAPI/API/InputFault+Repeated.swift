import PushText
import PushWire

extension InputFault {
    /// Returns the fault of the first key that its object has twice; nil if there is none.
    init?(repeatedKeyIn document: JSONDocument) {
        guard let key = document.repeatedKey() else { return nil }
        let name = PlainText.line(document.string(key) ?? "", limit: 60)
        let pointer = document.steps(toKey: key).map { step in
            switch step {
            case .member(let name): "/" + JSONPointer.escaped(name)
            case .element(let index): "/\(index)"
            }
        }.joined()
        self.init(.repeated, at: .pointer(pointer), detail: "the key \"\(name)\" is given twice in one object")
    }
}
