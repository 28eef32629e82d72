# SPDX-License-Identifier: MPL-2.0
#
# Short C names for what protoc-c generates, and constructors that allocate in an arena.
#
#	awk -v package=csi.v1 -v file=csi -f names.awk csi.pb-c.h > csi.h
#
#	Csi__V1__VolumeCapability__AccessMode     -> VolumeCapability_AccessMode
#	CSI__V1__VOLUME_CAPABILITY__..__UNKNOWN   -> VOLUME_CAPABILITY_.._UNKNOWN
#	csi__v1__volume__init                     -> Volume *new_volume(struct arena *)

function short(name) {
	gsub(/__/, "_", name)
	return name
}

BEGIN {
	# csi.v1 -> Csi__V1__, csi__v1__, CSI__V1__
	n = split(package, part, ".")
	for (i = 1; i <= n; i++) {
		camel = camel toupper(substr(part[i], 1, 1)) substr(part[i], 2) "__"
		lower = lower part[i] "__"
	}
	upper = toupper(lower)
	guard = "ZCSI_" toupper(file) "_H"
	gsub(/\//, "_", guard)
	print "/* Made by names.awk. */"
	print "#ifndef " guard
	print "#define " guard
	print ""
	print "#include \"common/mem.h\""
	print "#include \"" file ".pb-c.h\""
	print ""
}

$1 == "typedef" && $2 == "struct" && index($3, camel) == 1 && $3 !~ /_Service$/ {
	print "typedef " $3 " " short(substr($3, length(camel) + 1)) ";"
}

# the end of an enum
$1 == "}" && index($2, camel) == 1 {
	sub(/;$/, "", $2)
	print "typedef " $2 " " short(substr($2, length(camel) + 1)) ";"
}

index($1, upper) == 1 && $1 ~ /^[A-Z0-9_]+$/ && $2 == "=" {
	print "#define " short(substr($1, length(upper) + 1)) " " $1
}

# (a service's has its parameter on the same line)
$1 == "void" && NF == 2 && index($2, lower) == 1 && $2 ~ /__init$/ {
	init = $2
	getline
	sub(/^\(/, "", $1)
	name = substr(init, length(lower) + 1)
	sub(/__init$/, "", name)
	constructors = constructors "\nstatic inline " $1 " *new_" short(name) \
		"(struct arena *arena)\n{\n\t" $1 \
		" *message = arena_alloc(arena, sizeof(*message));\n\t" init \
		"(message);\n\treturn message;\n}\n"
}

END {
	print constructors
	print "#endif"
}
