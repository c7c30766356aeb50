private import CSimdJSON

/// The version of simdjson, with whose headers this program was compiled. The library itself reports none.
package enum JSONLibrary {
    package static var version: String { unsafe String(cString: CSimdJSON_version()) }
}
