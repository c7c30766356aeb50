/// The payload rules of Apple's documents for each push type ("Generating a remote notification", ActivityKit).
///
/// Apple's servers check little: they reject a payload that is empty or not a JSON object, and pass on everything else,
/// which the device may ignore. Therefore all other violations are warnings.
enum PayloadRules {
    static func warnings(for type: PushType, payload facts: PayloadFacts) -> Warnings {
        var warnings: Warnings = []
        if type == .mdm || (type == .unspecified && facts.hasMDM) {
            if !facts.hasMDM { warnings.insert(.mdmKeyMissing) }
            if facts.hasAPS { warnings.insert(.mdmWithAPS) }
            return warnings
        }
        if facts.hasMistypedAPS {
            warnings.insert(.apsNotAnObject)
        } else if !facts.hasAPS, type != .fileprovider {
            warnings.insert(.apsMissing)
        }
        if facts.hasUnknownKey { warnings.insert(.apsKeyUnknown) }
        if facts.repeatsAPS || !facts.repeated.isEmpty { warnings.insert(.apsKeyRepeated) }
        if !facts.mistyped.isEmpty { warnings.insert(.apsValueOfWrongType) }

        switch type {
        case .alert:
            if facts.hasAPS, !facts.keys.hasUserVisible { warnings.insert(.alertWithNothingToShow) }
        case .background:
            if !facts.isContentAvailable { warnings.insert(.backgroundWithoutContentAvailable) }
            if facts.keys.hasUserVisible { warnings.insert(.backgroundWithAlert) }
        case .fileprovider:
            if !facts.hasContainerIdentifier { warnings.insert(.containerIdentifierMissing) }
        case .widgets, .controls:
            if !facts.isContentChanged { warnings.insert(.contentChangedMissing) }
        case .accessory:
            if !facts.keys.isSuperset(of: .ofAccessories) { warnings.insert(.accessoryKeyMissing) }
        case .liveactivity:
            warnings.formUnion(activityWarnings(facts))
        case .unspecified, .voip, .complication, .mdm, .location, .pushtotalk:
            break
        }
        return warnings
    }

    static func activityWarnings(_ facts: PayloadFacts) -> Warnings {
        var warnings: Warnings = []
        if !facts.keys.contains(.timestamp) { warnings.insert(.activityTimestampMissing) }
        if !facts.keys.contains(.contentState) { warnings.insert(.activityContentStateMissing) }
        switch facts.event {
        case .none: warnings.insert(.activityEventMissing)
        case .unknown: warnings.insert(.activityEventUnknown)
        case .start:
            if !facts.keys.isSuperset(of: [.attributesType, .attributes, .alert]) {
                warnings.insert(.activityStartIncomplete)
            }
        case .update, .end: break
        }
        return warnings
    }
}
