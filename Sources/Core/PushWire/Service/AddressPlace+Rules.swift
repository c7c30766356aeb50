package import PushModel

extension AddressPlace {
    /// A member of a registration that does not fit the others.
    package struct Fault: CustomStringConvertible, Sendable {
        package let member: String
        /// The end of a sentence that begins with the member.
        let problem: String

        package var description: String { "\(member) \(problem)" }
    }

    /// Returns what is wrong with the place of an address; nil if nothing is.
    package func fault(for codec: any ServiceCodec) -> Fault? {
        if let kind, !codec.kinds.contains(kind) {
            let kinds = codec.kinds.map(\.rawValue).joined(separator: ", ")
            return Fault(member: "kind", problem: "is \(kind.rawValue); addresses of this app are of kind \(kinds)")
        }
        let hasActivity = activity?.isEmpty == false
        let hasType = activityType?.isEmpty == false
        switch kind {
        case .activity where !hasActivity:
            return Fault(member: "activity", problem: "is missing: the name of the activity that the address updates")
        case .activity where !hasType, .pushToStart where !hasType:
            return Fault(
                member: "activity_type",
                problem: "is missing: the type of the activity, such as the name of its attributes")
        case .activity: return nil
        case _ where hasActivity:
            return Fault(member: "activity", problem: "needs the kind activity")
        case .pushToStart: return nil
        case _ where hasType:
            return Fault(member: "activity_type", problem: "needs the kind activity or push_to_start")
        default: return nil
        }
    }
}
